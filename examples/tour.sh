#!/bin/sh
# A first look at the API with curl. Start `make run`, then in another terminal:
#
#     SERVICE=... sh examples/tour.sh        # the token that `make run` printed
set -eu
API=${API:-http://127.0.0.1:8080}
READER=101 AUTHOR=102 # any numbers will do: nobody has to sign up

# A backend's call for one of its users: call USER METHOD PATH [BODY]
call() {
    curl -s -X "$2" -H "Authorization: Bearer $SERVICE" -H "X-User-Id: $1" ${4:+-d "$4"} "$API$3"
}

# All values of a name in JSON. jq is better at it, where it is installed.
values() {
    grep -o "\"$1\":\(\"[^\"]*\"\|[^,}]*\)" | cut -d: -f2- | tr -d '"'
}

echo "following: $(call $READER POST /v1/relation/follow "{\"user_id\": $AUTHOR}" | values following)"
for i in 1 2 3; do
    call $AUTHOR POST /v1/posts "{\"kind\": \"note\", \"title\": \"Note $i\", \"body\": \"From the tour.\"}" >/dev/null
done
echo "unread: $(call $READER GET /v1/inbox/badge | values total)"

titles='' ids='' next=''
while [ "$next" != '&cursor=null' ]; do # two at a time, to the end
    page=$(call $READER GET "/v1/inbox?filter=unread&limit=2$next")
    titles="$titles$(echo "$page" | values title | sed 's/^/, /' | tr -d '\n')"
    ids="$ids $(echo "$page" | values post_id | tr '\n' ' ')"
    next="&cursor=$(echo "$page" | values next_cursor)"
done
echo "list: ${titles#, }"

# shellcheck disable=SC2086 # one word an id
set -- $ids
opened=$(call $READER POST "/v1/posts/$1/open")
echo "opened $(echo "$opened" | values title): $(echo "$opened" | values total) left"
up_to=$(echo "$page" | values as_of) # what came after it stays unread
marked=$(call $READER POST /v1/inbox/mark-read "{\"up_to\": \"$up_to\"}")
echo "marked $(echo "$marked" | values marked): $(echo "$marked" | values total) left"

problem=$(call $READER GET /v1/posts/1)
echo "$(echo "$problem" | values status) $(echo "$problem" | values code): $(echo "$problem" | values detail)"
