"""Recurrent networks: what RNN, LSTM and GRU compute.

cells.py      a step: the gates as ops of their own, and the public cells
sequences.py  the steps of a layer in one direction, as an op
networks.py   several layers and directions: `polyad.lstm`, `polyad.gru`, `polyad.rnn_tanh`, `polyad.rnn_relu`
"""
