"""Options of `ebb people`."""

from app.config.options import Option, switch
from app.tenants.name import parse_name

PEOPLE_HELP = "manage people who log in with a password (`ebb serve --passwords`)"
ADD_HELP = "create a person and print the initial password, only this once"
PEOPLE_LIST_HELP = "list the people that have a password or ever logged in"
SET_PASSWORD_HELP = "ask for a new password of a person, and remove the person's second factor"

REMOVE_HELP = "delete a person with all chats, files, keys and logins, for good"

REMOVE_OPTIONS = (Option("yes", switch, "", "delete without asking"),)
REMOVED_PERSON = Option("name", str, "NAME", "name of the person, or the tenant as `ebb people list` prints it")
ADD_OPTIONS = (Option("admin", switch, "", "let the person administer the server"),)
PERSON_NAME = Option("name", parse_name, "NAME", "name with which the person logs in")
