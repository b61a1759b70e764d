module goodput

go 1.26
