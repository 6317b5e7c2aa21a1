// What an integrator does first, with the client generated for Java. The four programs here print the same.
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import org.example.tidings.ApiClient;
import org.example.tidings.ApiException;
import org.example.tidings.api.*;
import org.example.tidings.model.*;

public class Client {
    static ApiClient connect(String token) {
        ApiClient client = new ApiClient();
        client.setBasePath(System.getenv("API"));
        client.setBearerToken(System.getenv(token));
        return client;
    }

    interface Call {
        void run() throws ApiException;
    }

    static Problem problemOf(Call call) throws Exception {
        try {
            call.run();
        } catch (ApiException error) {
            Problem problem = Problem.fromJson(error.getResponseBody());
            System.out.printf("get: %d %s%n", problem.getStatus(), problem.getCode());
            return problem;
        }
        throw new IllegalStateException("it worked");
    }

    public static void main(String[] args) throws Exception {
        ApiClient author = connect("AUTHOR"), fan = connect("FAN");
        PostsApi posts = new PostsApi(fan), writing = new PostsApi(author);
        InboxApi inbox = new InboxApi(fan);

        FollowAnswer follow = new RelationsApi(fan)
                .follow(new FollowRequest().userId(Long.parseLong(System.getenv("AUTHOR_ID"))), null, null);
        System.out.printf("follow: %b %b%n", follow.getChanged(), follow.getFollowing());
        Profile profile = new UsersApi(author).setProfile(new ProfileRequest().name("Ann"), null);
        System.out.printf("profile: %s%n", profile.getName());

        List<Post> published = new ArrayList<>();
        for (int i = 1; i <= 5; i++) {
            PublishRequest note = new PublishRequest().kind(Kind.NOTE).title("Post " + i)
                    .body(i + " [img]https://example.org/" + i + ".png[/img]");
            published.add(writing.publish(note, null, UUID.randomUUID().toString()));
        }
        List<Part> parts = published.get(4).getParts();
        System.out.printf("published: %d, the last with %sand %s%n",
                published.size(), parts.get(0).getText(), parts.get(1).getImg());
        System.out.printf("badge: %d%n", inbox.getBadge(null).getTotal());

        long first = published.get(0).getId(), last = published.get(4).getId();
        OpenAnswer opened = posts.openPost(first, null, null, null);
        System.out.printf("open: %s, %d left%n", opened.getPost().getTitle(), opened.getUnread().getTotal());
        MarkAnswer marked = inbox.markRead(new MarkReadRequest().addPostIdsItem(published.get(1).getId()), null, null);
        System.out.printf("mark: %d, %d left%n", marked.getMarked(), marked.getTotal());

        InboxPage page = inbox.listInbox(null, null, 2, null, null, null);
        List<Item> seen = new ArrayList<>(page.getItems());
        int pages = 1;
        while (page.getNextCursor() != null) {
            page = inbox.listInbox(null, null, 2, page.getNextCursor(), null, null);
            seen.addAll(page.getItems());
            pages++;
        }
        System.out.printf("pages: %d with %d items, %d unread%n",
                pages, seen.size(), seen.stream().filter(item -> !item.getIsRead()).count());
        marked = inbox.markRead(new MarkReadRequest().upTo(page.getAsOf()), null, null);
        System.out.printf("mark all: %d, %d left%n", marked.getMarked(), marked.getTotal());

        System.out.printf("edit: %s%n", writing.editPost(first, new EditRequest().title("Edited"), null, null).getTitle());
        StoriesApi stories = new StoriesApi(author);
        long story = writing.publish(new PublishRequest().kind(Kind.STORY).title("A story"), null, null).getId();
        Scene scene = stories.publishScene(
                story, new SceneRequest().title("One").messages(List.of("old", "gone")), null, null, null);
        KeptMessage kept = new KeptMessage().id(scene.getMessages().get(0).getId()).text("kept");
        scene = stories.editScene(scene.getId(), new SceneEditRequest()
                .addMessagesItem(new SceneEditMessage(kept)).addMessagesItem(new SceneEditMessage("new")), null, null);
        System.out.printf("scene: %s%n",
                scene.getMessages().stream().map(Message::getText).collect(Collectors.joining(", ")));

        ReadingApi reading = new ReadingApi(fan);
        reading.setReading(story, new ReadingRequest().sceneId(scene.getId()), null, null);
        ReadingList delta = reading.listReading(0L, null, null, null);
        System.out.printf("reading: %d, more %b%n", delta.getItems().size(), delta.getMore());
        ReactionsApi reactions = new ReactionsApi(fan);
        reactions.likePost(published.get(2).getId(), null, null);
        LikedPost liked = reactions.listMyLikes(null, null, null, null).getItems().get(0).getLikedPost();
        System.out.printf("liked: %s%n", liked.getTitle());

        problemOf(() -> posts.getPost(1L, null, null));
        writing.deletePost(last, null, null);
        Problem gone = problemOf(() -> posts.getPost(last, "en", null));
        System.out.printf("notice: %s%n", gone.getNotice());
    }
}
