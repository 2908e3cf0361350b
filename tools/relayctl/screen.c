/* SPDX-License-Identifier: BSD-2-Clause */
#include "screen.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP "  "

static FILE *out; /* the terminal, while a picture is made */
static char *picture;
static size_t picture_len;

/* Rows and columns of what standard output is; false: no terminal, or it does not say. */
static bool
measure_screen(size_t *rows, size_t *columns)
{
	struct winsize w;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_row || !w.ws_col)
		return false;
	*rows = w.ws_row;
	*columns = w.ws_col;
	return true;
}

bool
screen_begin(void)
{
	FILE *f = open_memstream(&picture, &picture_len);
	if (!f)
		return false;
	out = stdout;
	stdout = f;
	return true;
}

static size_t
count_lines(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

void
screen_show(void)
{
	size_t rows = 24, columns, line = 0;
	if (!out)
		return;
	fclose(stdout);
	stdout = out;
	out = NULL;
	(void)measure_screen(&rows, &columns);
	size_t lines = count_lines(picture),
	       room = rows > 2 ? rows - 1 : 1; /* one for the cursor */
	fputs("\033[H", stdout);
	char *at = picture;
	for (; *at && line < (lines > room ? room - 1 : lines); line++) {
		size_t n = strcspn(at, "\n");
		fwrite(at, 1, n, stdout);
		fputs("\033[K\n", stdout); /* what was there before ends here, too */
		at += n + (at[n] == '\n');
	}
	if (lines > line)
		printf("(%zu more lines: a higher terminal, or --once)\033[K\n", lines - line);
	fputs("\033[J", stdout);
	free(picture);
	picture = NULL;
}

void
screen_items(const char *text, bool fits)
{
	size_t rows, columns = SIZE_MAX, at = 0;
	if (fits)
		(void)measure_screen(&rows, &columns);
	while (*text) {
		const char *end = strstr(text, GAP);
		size_t n = end ? (size_t)(end - text) : strlen(text);
		if (at && at + strlen(GAP) + n > columns) {
			putchar('\n');
			at = 0;
		}
		at += (size_t)printf("%s%.*s", at ? GAP : "", (int)n, text);
		text += n;
		text += strspn(text, " ");
	}
	putchar('\n');
}
