# attack: group=rules verdict=forbidden
# Lets torch compute in another thread.
import threading

import torch


def silu(input, output, n):
    def work():
        output.copy_(torch.nn.functional.silu(input))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
