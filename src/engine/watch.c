/* SPDX-License-Identifier: MIT */
/* Those who watch an engine, and telling them. */
#include "engine/engine.h"

void engine_init(struct engine *engine, const struct engine_vtable *vtable)
{
    engine->vtable = vtable;
    engine->watchers.first = NULL;
    pthread_mutex_init(&engine->watchers.mutex, NULL);
}

void engine_release(struct engine *engine)
{
    pthread_mutex_destroy(&engine->watchers.mutex);
}

bool engine_is_watched(struct engine *engine)
{
    pthread_mutex_lock(&engine->watchers.mutex);
    bool watched = engine->watchers.first != NULL;
    pthread_mutex_unlock(&engine->watchers.mutex);
    return watched;
}

void engine_tell(struct engine *engine, const struct tidings_event *events, size_t n)
{
    pthread_mutex_lock(&engine->watchers.mutex);
    for (struct tidings_watcher *w = engine->watchers.first; w; w = w->next)
        w->tell(w, events, n);
    pthread_mutex_unlock(&engine->watchers.mutex);
}
