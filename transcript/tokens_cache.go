package transcript

import (
	"crypto/sha256"
)

// hashOfString hashes a string without copying it.
func HashOfString(s string) Hash { return sha256.Sum256(StringBytes(s)) }
