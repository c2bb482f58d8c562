"""What tests of failures share: processes that are killed, a store of everything, and what must hold afterwards."""
