package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"divisi/contextscope"
	"divisi/contextscope/content"
)

// shared is what all siblings of a role send byte for byte: its size, the digest by which it can be told from others, and the
// ids of the events that its parts tell of.
type shared struct {
	bytes  int
	digest string
	about  []string
}

// cache says where the stable parts of the request end: a provider can keep them.
type cache struct{}

// Name implements processor.
func (cache) Name() string { return "cache" }

// Process implements processor.
func (p cache) Process(st *state) {
	st.req.PrefixDigest = st.shared.digest
	st.req.PrefixTokens = st.ratio.of(st.shared.bytes)
	st.trace(contextscope.Trace{
		Processor: p.Name(), Parts: st.req.SharedParts, Tokens: content.TokensOf(st.shared.bytes),
		What: fmt.Sprintf("instruction, tools and %d parts of contents[0] are the same for all siblings (sha256 %.12s); "+
			"this agent's requests all begin with contents[:%d]", st.req.SharedParts, st.shared.digest, st.req.Prefix),
	})
}

// digestOf is the digest of texts one after the other.
func digestOf(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d\n%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}
