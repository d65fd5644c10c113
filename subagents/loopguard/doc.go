// Package loopguard detects an agent that repeats itself. Its input are the agent's words and calls, in order, its output is
// a strike. It is pure: no clock, no goroutine, no network; the same events always give the same strikes. It never stops an
// agent: package agent does.
//
// # Calls
//
// A call is its name and its arguments, whatever the order of keys and the form of numbers (1, 1.0 and 1e0 are one). A cycle
// of 1 to 10 calls that comes five times in a row with the same results is a loop; a result that changes makes it none. The
// strike is the call that would complete the fifth time, so its result cannot be compared, nor can those of calls before it
// in the same turn. A result that never came is missing, and missing equals missing. Words between calls mean nothing here.
//
// # Text and thoughts
//
// Both are read alike and apart from each other. Each 50 characters are a window. Ten equal ones within a mean distance of
// 250 are a loop, if no more than five of the nine texts from one to the next differ: a list whose items begin alike is none.
// Characters are code points; how the stream was cut into pieces changes nothing. What does not count, and resets nothing:
//
//   - code between fences, and tables; an unclosed fence ends with the model's turn, or at a call;
//   - a ruler: where one character repeats, or punctuation follows punctuation, the 41st to the 80th of a row.
//
// The text continues over turns: who says the same again each turn is found. A call and a result are in it as one character
// each, made of what they are, so that the same sentence before each of many different calls is no loop.
//
// The newest 4,096 characters are kept, 80 KiB each for text and thoughts. That loses nothing: ten windows within a mean
// distance of 250 lie within 2,300.
//
// # Judge
//
// From turn 30 on a cheap model is asked now and then whether there is progress. The package says when, what to ask and what
// the answers mean; it calls no model.
//
// # Strikes
//
// The first strike is a nudge and clears what was kept, so that the agent starts afresh. The second is the end. A new task
// takes strikes back; nothing else does.
package loopguard
