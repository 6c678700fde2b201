"""What the judge and its workers share: messages, CUDA driver calls, paths of worker programs."""
