// Package pairing puts the result of each call right after it. Its input are the events of a session as items; its output are
// the items in order with each call answered once, and notes on what was left out or made up. It never changes a content that
// an event holds.
package pairing
