"""The page that tells of every proof, made from the proofs and from the code of the examples."""
