"""`python -m apps.email_solver`: in the program's own venv, which the first start makes."""

from apps import venv

if __name__ == "__main__":
    venv.enter("email_solver")

    from apps.email_solver.program import main

    main()
