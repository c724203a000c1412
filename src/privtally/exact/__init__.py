"""What the promise rests on: e^x between rationals, words of randomness, probabilities in 2^-32, canonical JSON."""
