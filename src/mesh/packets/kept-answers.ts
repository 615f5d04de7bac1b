/**
 * Kept answers: the latest packets of answers of one session, in case they got lost on their way.
 *
 * Bounded in number and in size; who asks for one that is not kept any more hears that it is forgotten. Keeping costs
 * nothing per answer: they are looked for inside when somebody asks, which is seldom.
 *
 * Pure.
 */
const MAX_PACKETS = 256
const MAX_CHARACTERS = 1_048_576
const MAX_PACKET_CHARACTERS = 131_072

export class KeptAnswers {
  readonly #payloads: string[] = []
  #characters = 0

  keep(payload: string): void {
    if (payload.length > MAX_PACKET_CHARACTERS) return
    this.#payloads.push(payload)
    this.#characters += payload.length
    while (this.#payloads.length > MAX_PACKETS || this.#characters > MAX_CHARACTERS)
      this.#characters -= this.#payloads.shift()?.length ?? 0
  }

  /** As it stood in its packet. */
  find(number: number): string | undefined {
    for (const payload of this.#payloads.toReversed()) {
      if (!payload.includes(`[${number},`)) continue
      const answers = JSON.parse(payload) as readonly (readonly [number, number, unknown])[]
      const found = answers.find(([each]) => each === number)
      if (found !== undefined) return JSON.stringify(found)
    }
    return undefined
  }
}
