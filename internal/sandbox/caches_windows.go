package sandbox

import "os"

// lockFile locks nothing: a cache that two make at once may be thrown away once too often.
func lockFile(path string, _, _ bool) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &Lock{f}, nil
}

func (*Lock) unlock() error { return nil }
