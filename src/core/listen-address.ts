/** Listen address: where a listener is opened, with the configuration keys that set it. */
export interface ListenAddressSettings {
  /** The key of the configuration that sets the host, such as `listen.host`. */
  readonly hostKey: string
  readonly host: string
  readonly portKey: string
  /** 0: the system chooses a free one. */
  readonly port: number
  readonly protocol: 'tcp' | 'udp'
}
