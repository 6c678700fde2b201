"""What the judge and its workers share: messages, the CUDA driver, the workers' programs."""
