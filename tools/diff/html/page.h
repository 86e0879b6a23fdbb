/*
 * page.h - the page's fixed parts: what stands before the data, and behind.
 *
 * Made by embed.py from page.html, page.css and page.js when this is built.
 */
#ifndef TOOLS_DIFF_HTML_PAGE_H
#define TOOLS_DIFF_HTML_PAGE_H

extern const char page_head[];
extern const char page_tail[];

#endif
