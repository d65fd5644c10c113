module example.com/shop

go 1.24

require example.com/clock v1.0.0

replace example.com/clock => ./third_party/clock
