/** Pages: a list that a tool answers in pieces, read to its end or to a bound. */
import { ask } from './ask.ts'
import { listAt, stringAt } from './json.ts'
import type { Json, JsonObject } from './json.ts'

export interface Paged {
  readonly tool: string
  readonly body: JsonObject
  /** Which field of an answer holds the list, which says where it goes on, and as which argument that is given back. */
  readonly list: string
  readonly next: string
  readonly cursor: string
}

/** No page shows more than that, whatever the house has. */
const MAX_PAGES = 100

/** `read` is applied page by page, so that a house of thousands does not hold the page up all at once. */
export async function readPages<Item>(
  { tool, body, list, next, cursor }: Paged,
  read: (item: Json) => Item,
  maxPages = MAX_PAGES,
): Promise<readonly Item[]> {
  const items: Item[] = []
  let from: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const { data } = await ask(tool, { ...body, ...(from === undefined ? {} : { [cursor]: from }) })
    items.push(...listAt(data, list).map(read))
    from = stringAt(data, next)
    if (from === undefined) break
  }
  return items
}

export function asItIs(item: Json): Json {
  return item
}
