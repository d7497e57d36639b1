"""What a person looks at, and answers: the routes that the dashboard needs beside those of the session service."""
