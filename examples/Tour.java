// A first look at the API with nothing but the JDK (11 or later). Start `make run`, then in another terminal:
//
//     SERVICE=... java examples/Tour.java        # the token that `make run` printed
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class Tour {
    static final String API = System.getenv().getOrDefault("API", "http://127.0.0.1:8080");
    static final int READER = 101, AUTHOR = 102; // any numbers will do: nobody has to sign up
    // The server speaks HTTP/1.1; the JDK would ask for an upgrade first.
    static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    /** A backend's call for one of its users; the answer's JSON. */
    static String call(int user, String method, String path, String body) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(API + path))
                .header("Authorization", "Bearer " + System.getenv("SERVICE"))
                .header("X-User-Id", String.valueOf(user))
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
        if (method.equals("POST")) // send it again with the same key, and nothing happens twice
            request.header("Idempotency-Key", UUID.randomUUID().toString());
        HttpResponse<String> answer = HTTP.send(request.build(), BodyHandlers.ofString());
        if (answer.statusCode() >= 400)
            throw new IllegalStateException(answer.statusCode() + " " + get(answer.body(), "code") + ": "
                    + get(answer.body(), "detail"));
        return answer.body();
    }

    /** All values of a name. The JDK cannot read JSON; a real program takes Jackson or Gson for it. */
    static List<String> all(String json, String name) {
        List<String> found = new ArrayList<>();
        Matcher matcher = Pattern.compile("\"" + name + "\":(?:\"([^\"]*)\"|([^,}\\]]+))").matcher(json);
        while (matcher.find())
            found.add(matcher.group(1) != null ? matcher.group(1) : matcher.group(2));
        return found;
    }

    static String get(String json, String name) {
        return all(json, name).get(0);
    }

    public static void main(String[] args) throws Exception {
        String follow = call(READER, "POST", "/v1/relation/follow", "{\"user_id\": " + AUTHOR + "}");
        System.out.println("following: " + get(follow, "following"));
        for (int i = 1; i <= 3; i++)
            call(AUTHOR, "POST", "/v1/posts",
                    "{\"kind\": \"note\", \"title\": \"Note " + i + "\", \"body\": \"From the tour.\"}");
        System.out.println("unread: " + get(call(READER, "GET", "/v1/inbox/badge", null), "total"));

        List<String> titles = new ArrayList<>(), ids = new ArrayList<>();
        String page, next = "";
        do { // two at a time, to the end
            page = call(READER, "GET", "/v1/inbox?filter=unread&limit=2" + next, null);
            titles.addAll(all(page, "title"));
            ids.addAll(all(page, "post_id"));
            next = "&cursor=" + get(page, "next_cursor");
        } while (!next.equals("&cursor=null"));
        System.out.println("list: " + String.join(", ", titles));

        String opened = call(READER, "POST", "/v1/posts/" + ids.get(0) + "/open", null);
        System.out.println("opened " + get(opened, "title") + ": " + get(opened, "total") + " left");
        String marked = call(READER, "POST", "/v1/inbox/mark-read",
                "{\"up_to\": \"" + get(page, "as_of") + "\"}"); // what came after it stays unread
        System.out.println("marked " + get(marked, "marked") + ": " + get(marked, "total") + " left");

        try {
            call(READER, "GET", "/v1/posts/1", null);
        } catch (IllegalStateException problem) {
            System.out.println(problem.getMessage());
        }
    }
}
