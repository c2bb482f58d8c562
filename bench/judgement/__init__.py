"""How good memctl's judgement without a model is, on cases that were written without knowing its rules."""
