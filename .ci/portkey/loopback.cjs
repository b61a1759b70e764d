// The gateway has no option for the address that it listens on: have it be loopback.
const { Server } = require('net');
const listen = Server.prototype.listen;
Server.prototype.listen = function (first, ...rest) {
  if (typeof first === 'number') {
    return listen.call(this, first, '127.0.0.1', ...rest.filter((x) => typeof x !== 'string'));
  }
  if (first && typeof first === 'object' && first.port !== undefined) {
    return listen.call(this, { ...first, host: '127.0.0.1' }, ...rest);
  }
  return listen.call(this, first, ...rest);
};
