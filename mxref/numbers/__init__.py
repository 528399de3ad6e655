"""One number: encode, decode, E8M0 scales, shared scales and the lookup tables behind them."""
