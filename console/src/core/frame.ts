/** Frame: one server-sent event, put together from pieces of text that may be cut anywhere. */
export interface EventFrame {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** Fields of a frame end with their line, the frame with an empty one; lines may be cut anywhere between chunks. */
export function frameParser(onFrame: (frame: EventFrame) => void): (text: string) => void {
  let rest = ''
  return (text) => {
    const frames = (rest + text).split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const fields = new Map<string, string>()
      for (const row of frame.split('\n')) {
        const colon = row.indexOf(': ')
        if (colon > 0) fields.set(row.slice(0, colon), row.slice(colon + 2))
      }
      const data = fields.get('data')
      if (data !== undefined) onFrame({ id: fields.get('id') ?? '', event: fields.get('event') ?? '', data })
    }
  }
}
