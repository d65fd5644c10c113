package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2/maybe"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/orchestrator/store"
)

// mark begins the file of kept settings, before the checkout for which a person has kept them. Another checkout has them too
// where it names the same remote, which any can.
const mark = "# Kept for checkout "

// Kept is the place of the settings of a repository outside of it.
type Kept struct{ Path, checkout string }

// At returns the place for a checkout: that of its remote, whose address it does not show, or its own where it has no remote.
func At(state store.Dir, c *git.Checkout) (Kept, error) {
	own, err := c.Identity()
	name := own
	if at := c.Remote(); at != "" {
		digest := sha256.Sum256([]byte("remote\x00" + at))
		name = hex.EncodeToString(digest[:16])
	}
	return Kept{filepath.Join(state.Path, "settings", name+".yaml"), own}, err
}

// read returns the file, nil where there is none, and whether a person has kept it for this very checkout.
func (k Kept) read() (file *configs.File, own bool, err error) {
	text, err := configs.ReadOwn(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	first, _, _ := strings.Cut(text, "\n")
	return &configs.File{Name: k.Path, Text: text}, first == mark+k.checkout, err
}

// Write keeps the text of a project file, in the place of an earlier one.
func (k Kept) Write(text string) error {
	err := os.MkdirAll(filepath.Dir(k.Path), 0o700)
	if err == nil {
		err = maybe.WriteFile(k.Path, []byte(mark+k.checkout+"\n"+text), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the settings: %w", err)
	}
	return nil
}
