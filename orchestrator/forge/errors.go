package forge

import "errors"

// The classes of errors of a forge.
var (
	ErrExists      = errors.New("the pull request exists")
	ErrNotFound    = errors.New("not found at the forge, or the credential may not see it")
	ErrCredential  = errors.New("the forge refuses the credential")
	ErrForbidden   = errors.New("the credential may not do this")
	ErrMoved       = errors.New("the branch has moved")
	ErrReviewer    = errors.New("the forge refuses a reviewer")
	ErrUnsupported = errors.New("the forge does not do this")
	ErrUncertain   = errors.New("the forge answered with an error after it may have written")
)
