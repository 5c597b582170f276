"""The settings, declared by topic. `app.config.settings` joins them."""
