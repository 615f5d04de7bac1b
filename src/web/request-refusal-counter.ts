/** Request refusal counter: how many requests were refused before they became calls, and why. */

export class RequestRefusalCounter {
  readonly counts = new Map<RefusalCause, number>()

  count(cause: RefusalCause): void {
    this.counts.set(cause, (this.counts.get(cause) ?? 0) + 1)
  }
}

type RefusalCause = 'unauthenticated' | 'credential' | 'rate'
