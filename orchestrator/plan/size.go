package plan

import (
	"fmt"
	"slices"
)

// The sizes of shards whose rule sets none.
const (
	// fewShards is how many files, directories or packages get a shard each; of more, some share one.
	fewShards = 256
	// fewFiles is the least number of files at which one owner's are cut.
	fewFiles = 50
)

// choose returns the most files of a shard where the rule sets no size, from the number of files: fewShards shards when all are
// full. Directories and packages that are larger stay whole.
func (s *sharding) choose(modules [][]string) int {
	files, units := 0, 0
	for _, own := range modules {
		files += len(own)
		units += len(byDir(own))
	}
	if s.rule.By == "file" || s.rule.By == "owner" {
		units = files
	}
	share := (files + fewShards - 1) / fewShards
	switch {
	case s.rule.By == "command":
		return 0
	case s.rule.By == "owner":
		share = max(share, fewFiles)
	case units <= fewShards:
		return 1
	}
	if units > share {
		s.chosen = fmt.Sprintf(" puts up to %d files into a task, chosen for %d files: max_files or max_tokens sets another size",
			share, files)
	}
	return share
}

// size bounds a shard. Zero is no bound.
type size struct {
	files, tokens int
	// bytes are the sizes of all files, needed with tokens.
	bytes map[string]int64
}

// join puts neighbouring groups together while they fit. A group that is larger by itself stays whole.
func (s size) join(groups [][]string) (out [][]string) {
	var last int64
	for _, g := range groups {
		var own int64
		for _, f := range g {
			own += s.bytes[f]
		}
		if n := len(out); n > 0 && s.fits(len(out[n-1])+len(g), last+own) {
			out[n-1] = append(out[n-1], g...)
			last += own
			continue
		}
		out, last = append(out, g), own
	}
	return out
}

func (s size) fits(files int, bytes int64) bool {
	return (s.files == 0 || files <= s.files) && (s.tokens == 0 || bytes/bytesPerToken <= int64(s.tokens))
}

// bytesPerToken is the estimate of a token's size that the requests of models are counted with too.
const bytesPerToken = 4

// split cuts a list of files; a file that is too large is alone.
func (s size) split(files []string) [][]string {
	return s.join(slices.Collect(slices.Chunk(files, 1)))
}

// cutDirs cuts directories that are too large, and joins small neighbours.
func (s size) cutDirs(files []string) [][]string {
	var parts [][]string
	for _, dir := range byDir(files) {
		parts = append(parts, s.split(dir)...)
	}
	return s.join(parts)
}
