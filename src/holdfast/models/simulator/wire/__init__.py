"""The APIs that the simulator speaks: for each, a module that reads its requests and one that writes its answers."""
