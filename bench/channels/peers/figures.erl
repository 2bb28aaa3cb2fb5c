%% The figures of ../figures.lee with Erlang's processes: MODE COUNT [SIZE].
-module(figures).
-export([main/1]).

%% Processor time of the program, in nanoseconds, to 10 ms: counts must be large.
now_ns() -> {Total, _} = erlang:statistics(runtime), Total * 1.0e6.

resident() ->
    {ok, B} = file:read_file("/proc/self/statm"),
    [_, R | _] = string:split(binary_to_list(B), " ", all),
    list_to_integer(R) * 4096.0.

show(V) -> io:format("~.2f~n", [float(V)]).

echo() -> receive {P, X} -> P ! {self(), X}, echo() end.

trips(_, _, 0) -> ok;
trips(E, X, N) -> E ! {self(), X}, receive {E, _} -> trips(E, X, N - 1) end.

%% Binaries of more than 64 bytes are counted and passed by pointer; lists are copied.
pass(N, X) ->
    E = spawn(fun echo/0),
    T = now_ns(),
    trips(E, X, N),
    (now_ns() - T) / N.

spawns(0) -> ok;
spawns(N) -> S = self(), spawn(fun() -> S ! x end), receive x -> spawns(N - 1) end.

yields(0) -> ok;
yields(N) -> erlang:yield(), yields(N - 1).

parked(0) -> ok;
parked(N) ->
    S = self(),
    spawn(fun() -> S ! here, receive never -> ok end end),
    receive here -> parked(N - 1) end.

main([Mode, Count | Rest]) ->
    N = list_to_integer(Count),
    Size = case Rest of [S] -> list_to_integer(S); [] -> 0 end,
    case Mode of
        "trip" -> show(pass(N, 1));
        "send" -> show(pass(N, binary:copy(<<7>>, Size)) / 2);
        "copy" -> show(pass(N, lists:duplicate(max(1, Size div 16), 7)) / 2);
        "spawn" -> T = now_ns(), spawns(N), show((now_ns() - T) / N);
        "switch" ->
            spawn(fun() -> yields(N) end),
            erlang:yield(),
            T = now_ns(), yields(N), show((now_ns() - T) / N / 2);
        "park" -> T = now_ns(), parked(N), show((now_ns() - T) / N);
        "memory" -> M = resident(), parked(N), show((resident() - M) / N)
    end,
    halt().
