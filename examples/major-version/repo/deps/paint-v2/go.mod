module example.com/paint/v2

go 1.21
