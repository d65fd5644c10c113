package sandbox

import "os"

// lockFile locks nothing: a cache that two make at once may be thrown away once too often.
func lockFile(path string, _, _ bool) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
