"""`python -m apps.customer_comm`: in the program's own venv, which the first start makes."""

from apps import venv

if __name__ == "__main__":
    venv.enter("customer_comm")

    from apps.customer_comm.program import main

    main()
