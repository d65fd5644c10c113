//go:build !unix

package configs

import "os"

// ownerAlone is for systems whose files have a mode.
func ownerAlone(os.FileInfo) error { return nil }
