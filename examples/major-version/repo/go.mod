module example.com/studio

go 1.21

require example.com/paint v1.4.0

replace (
	example.com/paint => ./deps/paint-v1
	example.com/paint/v2 => ./deps/paint-v2
)
