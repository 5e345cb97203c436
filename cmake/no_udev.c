/* What hwloc's archive wants of libudev, for a build that links statically: there is no udev here. */
struct udev;
struct udev_device;
struct udev *udev_new(void);
struct udev *udev_unref(struct udev *udev);
struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem, const char *name);
struct udev_device *udev_device_unref(struct udev_device *device);
const char *udev_device_get_property_value(struct udev_device *device, const char *key);

struct udev *udev_new(void) {
    return 0;
}

struct udev *udev_unref(struct udev *udev) {
    (void)udev;
    return 0;
}

struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem, const char *name) {
    (void)udev, (void)subsystem, (void)name;
    return 0;
}

struct udev_device *udev_device_unref(struct udev_device *device) {
    (void)device;
    return 0;
}

const char *udev_device_get_property_value(struct udev_device *device, const char *key) {
    (void)device, (void)key;
    return 0;
}
