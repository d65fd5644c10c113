package prefix

import (
	"time"

	"divisi/internal/model"
)

const (
	// minSiblings is how many must share a prefix at one time before a cache is made for them.
	minSiblings = 3
	// callsEach is how many calls of one agent are expected to name the cache, before its own history outgrows the prefix
	// (see worthNaming).
	callsEach = 3
	// missed is the share of calls with a warm prefix that the service's own caching misses nevertheless. There is no promise;
	// the best that users report for prompts above ten thousand tokens is four hits in five, and many see fewer. The best
	// report is the careful figure here: it makes explicit caches pay later.
	missed = 0.2
)

// Pays reports whether a cache by name is worth its money for a prefix that siblings share at one time.
//
// What counts is the saving over the service's own caching, which costs nothing and finds most of it: an explicit cache saves
// only on the calls that the other misses. Against that it is paid for twice: the prefix is read once more at the full price to
// make it, and it is stored by the hour. All three grow with the prefix alike, so its size decides nothing beyond the minimum.
// Where the price of storage is not known it does not pay.
func Pays(tokens, siblings int, info model.Info, day time.Time) bool {
	price, known := info.PriceAt(day)
	if !info.ExplicitCache || !cacheable(Prefix{Tokens: tokens}, info) || siblings < minSiblings {
		return false
	}
	if !known || price.Storage <= 0 || price.Cached <= 0 {
		return false
	}
	saved := float64(siblings*callsEach) * missed * (price.In - price.Cached)
	return saved > price.In+price.Storage*cacheTTL.Hours()
}

// worthNaming reports whether a request is better off with the cache of its prefix than with the service's own caching. It
// cannot count on both: with the cache the prefix is cheap for certain and the agent's own history is taken to be at full
// price; without it both are cheap, but for the calls that are missed. So the cache is best while the history is short.
func worthNaming(prefix, prompt int) bool { return float64(prefix) >= (1-missed)*float64(prompt) }
