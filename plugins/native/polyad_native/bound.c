typedef void (*Task)(void *context, long part, long parts);

static void (*polyad_parallel)(Task task, void *context, long parts); /* the engine's */

/* bind(address of the engine's polyad_parallel, an array) */
static Object *bind(Object *self, Object *const *args, intptr_t count)
{
    polyad_parallel = (void (*)(Task, void *, long))(intptr_t)PyLong_AsLongLong(args[0]);
    array_type = args[1]->type;
    return none();
}
