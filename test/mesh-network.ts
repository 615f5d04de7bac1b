/**
 * Mesh network: a small LAN inside this machine. Every node has a network namespace of its own, with one cable to a
 * switch, and a cable can be made bad.
 *
 *   [ node ] eth0 ══ port0 [        ]
 *   [ node ] eth0 ══ port1 [ switch ] 10.99.7.254      here a broker can live
 *   [ node ] eth0 ══ port2 [        ]
 *
 * Needs root and `ip`; for bad cables `tc` with netem, `nft` or `iptables`. Where that is missing the tests run on
 * ports of one machine, and say so.
 */
import { spawnSync } from 'node:child_process'

export interface Place {
  readonly namespace: string
  readonly host: string
}

export interface Network {
  /** A cable for one more node; the same name gets the same place again. */
  readonly place: (name: string) => Place
  /** Another address at the same cable, as a router gives one: 10.99.7.<number>. */
  readonly move: (name: string, number: number) => void
  readonly broker: Place
  /**
   * From now on every packet, in either direction, is lost with a probability of one half. `undefined`: no tool for it.
   */
  readonly spoil: (name: string) => Spoilt | undefined
  /** Pulls the cable of a node; what is returned plugs it in again. */
  readonly cut: (name: string) => () => void
  readonly remove: () => void
}

export interface Spoilt {
  /** With what. */
  readonly by: string
  readonly mend: () => void
}

/** `undefined`, and a line that cannot be overlooked, where namespaces are not permitted. */
export function openNetwork(what: string): Network | undefined {
  const prefix = `hb${process.pid}`
  const hub = `${prefix}-hub`
  if (!tried('ip', 'netns', 'add', hub)) {
    process.stderr.write(
      `\n*** NOT IN NAMESPACES: ${what}: no permission for \`ip netns\`; ports of one machine instead ***\n`,
    )
    return undefined
  }
  const made = [hub]
  const places = new Map<string, Place>()
  const inside = (namespace: string, ...words: readonly string[]): void =>
    run('ip', 'netns', 'exec', namespace, ...words)
  inside(hub, 'ip', 'link', 'set', 'lo', 'up')
  // With an address of its own: a bridge takes the lowest of its ports' otherwise, and with the next cable another one,
  // while nodes go on sending to the one that they know.
  inside(hub, 'ip', 'link', 'add', 'switch', 'address', '02:00:0a:63:07:fe', 'type', 'bridge')
  inside(hub, 'ip', 'address', 'add', '10.99.7.254/24', 'dev', 'switch')
  inside(hub, 'ip', 'link', 'set', 'switch', 'up')
  const place = (name: string): Place => {
    const known = places.get(name)
    if (known !== undefined) return known
    const number = places.size
    const [namespace, port] = [`${prefix}-${number}`, `port${number}`]
    run('ip', 'netns', 'add', namespace)
    made.push(namespace)
    run('ip', '-n', namespace, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', port, 'netns', hub)
    const host = `10.99.7.${number + 1}`
    inside(namespace, 'ip', 'address', 'add', `${host}/24`, 'dev', 'eth0')
    for (const device of ['lo', 'eth0']) inside(namespace, 'ip', 'link', 'set', device, 'up')
    // For multicast: everything that is not this machine is on the cable.
    inside(namespace, 'ip', 'route', 'add', 'default', 'via', '10.99.7.254')
    inside(hub, 'ip', 'link', 'set', port, 'master', 'switch', 'up')
    const cabled = { namespace, host }
    places.set(name, cabled)
    return cabled
  }
  return {
    place,
    move: (name, number) => {
      const { namespace } = place(name)
      inside(namespace, 'ip', 'address', 'flush', 'dev', 'eth0')
      inside(namespace, 'ip', 'address', 'add', `10.99.7.${number}/24`, 'dev', 'eth0')
      inside(namespace, 'ip', 'route', 'replace', 'default', 'via', '10.99.7.254')
    },
    broker: { namespace: hub, host: '10.99.7.254' },
    spoil: (name) => {
      const number = [...places.keys()].indexOf(name)
      return spoilt([
        { namespace: `${prefix}-${number}`, device: 'eth0' },
        { namespace: hub, device: `port${number}` },
      ])
    },
    cut: (name) => {
      const port = `port${[...places.keys()].indexOf(name)}`
      inside(hub, 'ip', 'link', 'set', port, 'down')
      return () => inside(hub, 'ip', 'link', 'set', port, 'up')
    },
    remove: () => {
      for (const namespace of made.splice(0)) tried('ip', 'netns', 'delete', namespace)
    },
  }
}

interface End {
  readonly namespace: string
  readonly device: string
}

interface Tool {
  readonly name: string
  readonly spoil: (device: string) => readonly string[]
  readonly mend: (device: string) => readonly string[]
}

/** Each loses half of what goes out of, or comes in at, one end; two ends make both directions. */
const TOOLS: readonly Tool[] = [
  {
    name: 'tc netem',
    spoil: (device) => ['tc', 'qdisc', 'add', 'dev', device, 'root', 'netem', 'loss', '50%'],
    mend: (device) => ['tc', 'qdisc', 'delete', 'dev', device, 'root'],
  },
  {
    name: 'nft numgen',
    spoil: (device) => [
      'nft',
      `add table netdev bad; add chain netdev bad in { type filter hook ingress device "${device}" priority 0; }; add rule netdev bad in numgen random mod 2 0 drop`,
    ],
    mend: () => ['nft', 'delete table netdev bad'],
  },
]

function spoilt(ends: readonly End[]): Spoilt | undefined {
  for (const { name, spoil, mend } of TOOLS) {
    const done = ends.filter(({ namespace, device }) => tried('ip', 'netns', 'exec', namespace, ...spoil(device)))
    const undo = (): void => {
      for (const { namespace, device } of done) run('ip', 'netns', 'exec', namespace, ...mend(device))
    }
    if (done.length === ends.length) return { by: name, mend: undo }
    undo()
  }
  return undefined
}

function tried(command: string, ...words: readonly string[]): boolean {
  return spawnSync(command, words, { stdio: 'ignore' }).status === 0
}

function run(command: string, ...words: readonly string[]): void {
  const { status, stderr } = spawnSync(command, words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${words.join(' ')}: ${stderr}`)
}
