"""Kinds of values in the words of cases: how each is drawn, made simpler, printed and laid out."""
