package mcpserver

import (
	"log/slog"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"divisi/internal/text"
	"divisi/subagents/wire"
)

// unnamed is a client that does not tell its name.
const unnamed = "unnamed"

// client is the person for whom the client of a call acts, with the client's name.
func (s *Server) client(req *sdk.CallToolRequest) string {
	name := unnamed
	if c := req.ClientInfo(); c != nil && c.Name != "" {
		name = c.Name
	}
	return wire.Through(s.opts.Person, name)
}

// visible replaces the characters of a foreign text that are not seen as themselves: those that a terminal would obey, that
// change the direction of text, or that are invisible. Lines and tabs stay.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !text.Hidden(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// logger has the library log to the server's log: standard output is the client's.
func logger(log zerolog.Logger) *slog.Logger { return slog.New(zerolog.NewSlogHandler(log)) }
