//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

// Keeper holds what the commands of one attempt share; there is none on this system.
type Keeper struct{}

// KeeperConfig holds the resources of a keeper.
type KeeperConfig struct {
	Place    Place
	Builds   []string
	Scratch  string
	Loopback bool
}

// ErrKeeper reports that the keeper of a command has ended before its time.
var ErrKeeper = errors.New("the keeper of its layers has ended")

var errNoKeeper = errors.New("only Linux has namespaces")

// StartKeeper fails.
func StartKeeper(context.Context, KeeperConfig) (*Keeper, error) { return nil, errNoKeeper }

// Views reports that there are none.
func Views() error { return errNoKeeper }

func (*Keeper) holds(string) bool { return false }

// Built returns nothing.
func (*Keeper) Built() string { return "" }

// Merge fails.
func Merge(string, []string, string) error { return errNoKeeper }

// Written returns nothing.
func (*Keeper) Written() []Layer { return nil }

// Close does nothing.
func (*Keeper) Close() error { return nil }

// Ahead starts stages of commands ahead; there are none on this system.
type Ahead struct{}

// Close does nothing.
func (*Ahead) Close() error { return nil }
