"""Helpers of the old invoices."""


def net(gross, rate):
    return gross / (1 + rate)


def round_half_up(amount):  # unused since the new rounding
    return int(amount * 100 + 0.5) / 100


def old_number(n):  # unused
    return f"INV-{n:06d}"
